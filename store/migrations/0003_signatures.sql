ALTER TABLE revisions ADD COLUMN signature TEXT NOT NULL DEFAULT ''; -- of the manifest's bytes
