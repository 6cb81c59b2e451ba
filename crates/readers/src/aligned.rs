//! Builds a text whose lines match the lines of its source.

/// A text under construction that tracks its line in the source.
pub(super) struct AlignedText<'a> {
    source: &'a str,
    text: String,
    /// Offset in the source up to which lines are counted, and how many lines ended before it.
    counted: usize,
    source_line: usize,
    /// Number of lines that ended in the text.
    line: usize,
    in_step: bool,
}

impl<'a> AlignedText<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            text: String::with_capacity(source.len()),
            counted: 0,
            source_line: 0,
            line: 0,
            in_step: true,
        }
    }

    /// Advances to the source line that contains the byte `offset`. Offsets must be ascending. The text stays
    /// where it is if it is already at that line or beyond it.
    pub(super) fn go_to(&mut self, offset: usize) {
        let line = self.line_of(offset);
        if line > self.line {
            self.trim_line();
        }
        self.text.extend(std::iter::repeat_n('\n', line.saturating_sub(self.line)));
        self.line = self.line.max(line);
        self.in_step &= self.line == line;
    }

    /// Like [`Self::go_to`], but starts a new line.
    pub(super) fn new_line(&mut self, offset: usize) {
        self.go_to(offset);
        if !self.at_line_start() {
            self.text.push('\n');
            self.line += 1;
            self.in_step = false;
        }
    }

    /// Like [`Self::line_at`], and continues counting from there.
    fn line_of(&mut self, offset: usize) -> usize {
        if offset > self.counted {
            self.source_line += self.source[self.counted..offset].matches('\n').count();
            self.counted = offset;
        }
        self.source_line
    }

    /// Returns the number of source lines before the line that contains `offset`, which may be ahead.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.source_line + self.source[self.counted.min(offset)..offset].matches('\n').count()
    }

    /// Adds words without line ends.
    pub(super) fn push(&mut self, words: &str) {
        debug_assert!(!words.contains('\n'), "a line end moves lines");
        self.text.push_str(words);
    }

    pub(super) fn at_line_start(&self) -> bool {
        self.text.is_empty() || self.text.ends_with('\n')
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Removes spaces and tabs at the end of the text.
    pub(super) fn trim_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches([' ', '\t']).len());
    }

    /// Returns the number of lines that ended in the text.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// Ends the line, even if the source has no further line.
    pub(super) fn end_line(&mut self) {
        self.text.push('\n');
        self.line += 1;
    }

    /// Returns the text, which ends with a line end, and whether its lines match those of the source.
    pub(super) fn finish(mut self) -> (String, bool) {
        if !self.at_line_start() {
            self.text.push('\n');
        }
        (self.text, self.in_step)
    }
}
