package meter

const (
	// ComparePerFuel is how many bytes of text are compared, hashed by a map, or looked through for one
	// byte, for a unit of fuel.
	ComparePerFuel = 512
	// ShortSearch is the longest text that processors help to look for.
	ShortSearch = 63

	shortPerFuel = 32 // bytes looked through for a short text
	longPerFuel  = 8  // for a long one, by its hash
)

// Search is the cost of looking for sub bytes in so many. Whoever wrote both texts can make the hash of
// a long one collide everywhere, so it may be compared at each place.
func Search(in, sub int) Cost {
	switch {
	case sub <= 1:
		return Cost{Fuel: int64(in) / ComparePerFuel}
	case sub <= ShortSearch:
		return Cost{Fuel: int64(in) / shortPerFuel}
	}
	return Cost{Fuel: int64(in+sub)/longPerFuel + Mul(int64(in), int64(sub))/ComparePerFuel}
}
