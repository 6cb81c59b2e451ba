//! Records from chunks, by a model.
