//! What a step took: as the provider counts it, otherwise estimated.

use dispatch::model::{Prompt, Said, Usage};

use crate::settings::Price;

/// As the provider counts it; what it does not say is nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub input: Option<u64>,
    pub cached: Option<u64>,
    pub output: Option<u64>,
}

/// About how many tokens a text is: four letters of ASCII each, other characters by themselves.
pub(crate) fn tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    (ascii.div_ceil(4) + others) as u64
}

fn of_prompt(prompt: &Prompt<'_>) -> u64 {
    let of_said = |said: &Said| match said {
        Said::Person { text, images } => tokens(text) + 800 * images.len() as u64,
        Said::Model(answered) => {
            let calls = answered.calls.iter().map(|wish| tokens(&wish.tool) + tokens(&wish.args.to_string()));
            tokens(&answered.text) + calls.sum::<u64>()
        }
        Said::Result { content, .. } => tokens(content),
    };
    let tools = if prompt.tools.as_array().is_some_and(|tools| !tools.is_empty()) {
        prompt.tools.to_string()
    } else {
        String::new()
    };
    tokens(prompt.system) + tokens(&tools) + prompt.messages.iter().map(of_said).sum::<u64>()
}

impl Counted {
    /// `said` is all that the model wrote, its thinking included.
    pub fn usage(self, prompt: &Prompt<'_>, said: u64, price: &Price) -> Usage {
        let input = self.input.unwrap_or_else(|| of_prompt(prompt));
        let output = self.output.unwrap_or(said);
        let cached = self.cached.unwrap_or(0).min(input);
        let cost = (input - cached) as f64 * price.input + cached as f64 * price.cached + output as f64 * price.output;
        // A price for a million tokens, in millionths: one token's.
        Usage { input, cached, output, cost_micros: cost.round().max(0.0) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_for_a_million_tokens_and_what_was_cached_has_its_own() {
        let prompt = Prompt {
            system: "",
            tools: &serde_json::Value::Null,
            messages: &[],
            deadline: tokio::time::Instant::now(),
        };
        let counted = Counted { input: Some(1_000_000), cached: Some(400_000), output: Some(100_000) };
        let price = Price { input: 2.5, output: 10.0, cached: 0.25 };
        assert_eq!(counted.usage(&prompt, 0, &price).cost_micros, 1_500_000 + 100_000 + 1_000_000);
        assert_eq!((tokens("abcdefgh"), tokens("天气"), tokens("")), (2, 2, 0));
    }
}
