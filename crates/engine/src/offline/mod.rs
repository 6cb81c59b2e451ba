//! The offline default: phrases, records, keywords and answers without a language model.
