//! Which earlier turns are told: the newest that fit, cut at borders of turns. Pure.

use contract::{
    TurnId,
    records::{Item, ItemStep},
    text,
};

use super::ITEMS_READ;

/// Turns behind the summary beyond which the older half of them is summed up, so that none is ever out of reach.
const ITEMS_LIVE: usize = ITEMS_READ * 3 / 4;

/// About how many tokens a text takes: four letters of an alphabet, or one character of other scripts. Too many rather than
/// too few.
pub(crate) fn tokens(text: &str) -> usize {
    let (ascii, other) = text.chars().fold((0, 0), |(ascii, other), c| match c.is_ascii() {
        true => (ascii + 1, other),
        false => (ascii, other + 1),
    });
    usize::div_ceil(ascii, 4) + other
}

/// What a turn takes, with a little for what is around each of its parts.
fn weight(item: &Item) -> usize {
    const AROUND: usize = 8;
    let step = |step: &ItemStep| {
        let calls = step.calls.iter();
        let calls =
            calls.map(|call| AROUND + tokens(&call.tool) + tokens(&call.args.to_string()) + tokens(&call.result));
        AROUND + tokens(&step.said) + calls.sum::<usize>()
    };
    2 * AROUND + tokens(&item.asked) + tokens(&item.answered) + item.steps.iter().map(step).sum::<usize>()
}

/// The newest turns that fit. Of one that is larger than all of the budget, what was asked and answered, cut.
pub(super) fn fitting(mut items: Vec<Item>, budget: usize) -> Vec<Item> {
    let first = first_within(&items, budget);
    if first == items.len()
        && let Some(last) = items.pop()
    {
        return vec![shortened(last, budget)];
    }
    items.split_off(first)
}

fn first_within(items: &[Item], budget: usize) -> usize {
    let mut left = budget;
    let fits = |item: &&Item| match left.checked_sub(weight(item)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    items.len() - items.iter().rev().take_while(fits).count()
}

fn shortened(mut item: Item, budget: usize) -> Item {
    // Characters of which each may be a token.
    let most = budget / 4;
    item.steps.clear();
    item.asked = text::cut(&item.asked, most);
    item.answered = text::cut(&item.answered, most);
    item
}

/// The newest of the turns that are to be summed up, once those behind the summary grow beyond three quarters of what is
/// told: the older half of them at once, so that most turns need no summary.
pub(super) fn to_sum_up(items: &[Item], budget: usize) -> Option<TurnId> {
    if first_within(items, budget - budget / 4) == 0 && items.len() <= ITEMS_LIVE {
        return None;
    }
    let kept_from = first_within(items, budget / 2).max(items.len().saturating_sub(ITEMS_LIVE / 2));
    // The newest is told word by word, whatever it takes.
    let kept_from = kept_from.min(items.len().saturating_sub(1));
    items.get(kept_from.checked_sub(1)?).map(|item| item.turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(lengths: &[usize]) -> Vec<Item> {
        let item = |length: &usize| Item { turn: TurnId::new(), asked: "a".repeat(*length), ..Item::default() };
        lengths.iter().map(item).collect()
    }

    #[test]
    fn tokens_are_counted_by_script() {
        assert_eq!((tokens(""), tokens("abcde"), tokens("天气 abcd")), (0, 2, 4));
    }

    #[test]
    fn the_newest_turns_that_fit_are_told() {
        let all = items(&[400, 400, 400]);
        assert_eq!(fitting(all.clone(), 250), all[1..]);
        assert_eq!(fitting(all.clone(), 10_000), all);
        assert!(fitting(Vec::new(), 10).is_empty());
    }

    #[test]
    fn a_turn_larger_than_all_is_told_shortened() {
        let told = fitting(items(&[40, 40_000]), 100);
        assert_eq!(told.len(), 1);
        assert!(weight(&told[0]) <= 100 && !told[0].asked.is_empty());
    }

    #[test]
    fn the_older_half_is_summed_up_before_it_falls_out() {
        let all = items(&[400; 8]);
        // Each takes 116.
        assert_eq!(to_sum_up(&all, 8 * 116 * 4 / 3 + 4), None);
        assert_eq!(to_sum_up(&all, 8 * 116), Some(all[3].turn));
        assert_eq!(to_sum_up(&all, 10), Some(all[6].turn), "the newest is told in any case");
        assert_eq!(to_sum_up(&items(&[400]), 10), None);
        let many = items(&[4; 60]);
        assert_eq!(to_sum_up(&many, 1_000_000), Some(many[60 - ITEMS_LIVE / 2 - 1].turn));
    }
}
