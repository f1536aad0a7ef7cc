// Package revision freezes layers: manifest, publish, diff, verify.
package revision
