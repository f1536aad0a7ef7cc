package hookpoints

import "testing"

func TestBasePointsGiveTheirPublishedVectors(t *testing.T) {
	for version, want := range map[int]string{
		1: "387278600f195746e6a537476e708aca9557c7cbc569e6fc4f17578b5f26c06b",
		2: "65f4698172a0feee6e1216c4eb56af82ed8c37734bdc9e9936826f3e3cbcc8b6",
	} {
		got, err := BaseVector(version)
		if err != nil || got != want {
			t.Errorf("version %d: got %s %v, want %s", version, got, err, want)
		}
	}
	if _, err := BaseVector(3); err == nil {
		t.Error("version 3 has a vector")
	}
}
