//! A set of tools as bits, by their index in a compiled snapshot.

/// A bit set over the tools of one [`crate::Compiled`]; up to 128 tools need no allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ToolSet(Words);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Words {
    Inline([u64; INLINE]),
    Boxed(Box<[u64]>),
}

const INLINE: usize = 2;
const BITS: usize = 64;

impl ToolSet {
    /// No tool, with room for `tools` of them.
    pub fn none(tools: usize) -> Self {
        match tools.div_ceil(BITS) {
            0..=INLINE => Self(Words::Inline([0; INLINE])),
            words => Self(Words::Boxed(vec![0; words].into_boxed_slice())),
        }
    }

    /// The first `tools` tools.
    pub fn all(tools: usize) -> Self {
        let mut set = Self::none(tools);
        for (n, word) in set.words_mut().iter_mut().enumerate() {
            let left = tools.saturating_sub(n * BITS);
            *word = if left >= BITS { u64::MAX } else { (1 << left) - 1 };
        }
        set
    }

    /// Those of `tools` tools whose index `holds`.
    pub fn of(tools: usize, holds: impl Fn(usize) -> bool) -> Self {
        let mut set = Self::none(tools);
        (0..tools).filter(|ix| holds(*ix)).for_each(|ix| set.insert(ix));
        set
    }

    pub fn contains(&self, ix: usize) -> bool {
        self.words().get(ix / BITS).is_some_and(|word| word >> (ix % BITS) & 1 == 1)
    }

    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.keep(other);
        set
    }

    /// Drops what `other` lacks.
    pub fn keep(&mut self, other: &Self) {
        let mut theirs = other.words().iter();
        for word in self.words_mut() {
            *word &= theirs.next().copied().unwrap_or(0);
        }
    }

    /// Drops what `other` has.
    pub fn remove(&mut self, other: &Self) {
        for (word, theirs) in self.words_mut().iter_mut().zip(other.words()) {
            *word &= !theirs;
        }
    }

    /// Adds what `other` has; both are sets over the same tools.
    pub(crate) fn add(&mut self, other: &Self) {
        for (word, theirs) in self.words_mut().iter_mut().zip(other.words()) {
            *word |= theirs;
        }
    }

    pub(crate) fn insert(&mut self, ix: usize) {
        if let Some(word) = self.words_mut().get_mut(ix / BITS) {
            *word |= 1 << (ix % BITS);
        }
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.intersect(other) == *self
    }

    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|word| *word == 0)
    }

    pub fn len(&self) -> usize {
        self.words().iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words().iter().enumerate().flat_map(|(n, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    n * BITS + bit
                })
            })
        })
    }

    pub(crate) fn words(&self) -> &[u64] {
        match &self.0 {
            Words::Inline(words) => words,
            Words::Boxed(words) => words,
        }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Words::Inline(words) => words,
            Words::Boxed(words) => words,
        }
    }
}

impl std::fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_knows_its_members_at_every_size() {
        for tools in [0, 1, 63, 64, 70, 127, 128, 129, 300] {
            let all = ToolSet::all(tools);
            assert_eq!(all.len(), tools);
            assert_eq!(all.iter().collect::<Vec<_>>(), (0..tools).collect::<Vec<_>>());
            assert!(!all.contains(tools));
            let odd = ToolSet::of(tools, |ix| ix % 2 == 1);
            assert_eq!(all.intersect(&odd), odd);
            assert!(odd.is_subset(&all));
            let mut even = all.clone();
            even.remove(&odd);
            assert!(even.intersect(&odd).is_empty());
            even.add(&odd);
            assert_eq!(even, all);
        }
    }

    #[test]
    fn a_smaller_set_never_lends_members_to_a_larger() {
        let mut large = ToolSet::all(300);
        large.keep(&ToolSet::all(70));
        assert_eq!(large.len(), 70);
    }
}
