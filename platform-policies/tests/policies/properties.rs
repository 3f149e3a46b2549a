use contract::Caller;
use policies::{Compiled, Policies, PolicyLayer, Source, permit};
use proptest::prelude::*;

use crate::{caller, lines, tools};

/// A block of some layer, as drawn.
#[derive(Debug, Clone, Default)]
struct Drawn {
    allow: Option<Vec<usize>>,
    deny_tools: Vec<usize>,
    deny_toolsets: Vec<usize>,
    deny_labels: Vec<usize>,
    only: Vec<(usize, Vec<usize>)>,
    approve: Vec<usize>,
}

const NAMES: [&str; 7] = ["weather_query", "order_query", "order_refund", "send_message", "run", "note", "draft"];
const TOOLSETS: [&str; 5] = ["weather", "orders", "messaging", "shell", "default"];
const LABELS: [&str; 5] = ["read", "money", "write", "shell", "write_files"];
const PEOPLE: [&str; 3] = ["slack:id:U0", "slack:id:U1", "slack:role:R1"];
const CALLERS: [&str; 5] =
    ["slack", "slack id:U1", "slack role:R1 channel:C1", "slack id:U1 channel:C1 tenant:acme", "slack tenant:acme"];

fn picks(names: &'static [&'static str]) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..names.len(), 0..3)
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let allow = prop::option::of(prop::collection::vec(0..TOOLSETS.len(), 0..5));
    let only = prop::collection::vec((0..NAMES.len(), picks(&PEOPLE)), 0..2);
    (allow, picks(&NAMES), picks(&TOOLSETS), picks(&LABELS), only, prop::collection::vec(0..NAMES.len(), 0..2))
        .prop_map(|(allow, deny_tools, deny_toolsets, deny_labels, only, approve)| Drawn {
            allow,
            deny_tools,
            deny_toolsets,
            deny_labels,
            only,
            approve,
        })
}

impl Drawn {
    /// The block in flow style.
    fn yaml(&self) -> String {
        let list = |picks: &[usize], names: &[&str]| {
            picks.iter().map(|ix| format!("\"{}\"", names[*ix])).collect::<Vec<_>>().join(", ")
        };
        let mut out = "toolsets: { ".to_owned();
        if let Some(allow) = &self.allow {
            out.push_str(&format!("allow: [{}], ", list(allow, &TOOLSETS)));
        }
        out.push_str(&format!("deny: [{}] }}", list(&self.deny_toolsets, &TOOLSETS)));
        out.push_str(&format!(", tools: {{ deny: [{}] }}", list(&self.deny_tools, &NAMES)));
        out.push_str(&format!(", permissions: {{ deny: [{}] }}", list(&self.deny_labels, &LABELS)));
        let mut kept = std::collections::BTreeMap::new();
        kept.extend(self.only.iter().map(|(tool, who)| (tool, list(who, &PEOPLE))));
        let only: Vec<_> = kept.iter().map(|(tool, who)| format!("\"tool:{}\": [{who}]", NAMES[**tool])).collect();
        out.push_str(&format!(", only: {{ {} }}", only.join(", ")));
        let asks: std::collections::BTreeSet<_> =
            self.approve.iter().map(|ix| format!("{}: {{}}", NAMES[*ix])).collect();
        out.push_str(&format!(", approve: {{ {} }}", asks.into_iter().collect::<Vec<_>>().join(", ")));
        out
    }
}

/// Platform, tenant, conversation and sender, each with a block or none.
fn build(platform: &Drawn, narrower: [Option<&Drawn>; 3]) -> Compiled {
    let [tenant, conversation, sender] = narrower.map(|block| block.map(Drawn::yaml));
    let mut file = format!("{{ platform: slack, {}", platform.yaml());
    if let Some(block) = conversation {
        file.push_str(&format!(", conversations: {{ \"channel:C1\": {{ {block} }} }}"));
    }
    if let Some(block) = sender {
        file.push_str(&format!(", senders: {{ \"id:U1\": {{ {block} }} }}"));
    }
    file.push_str(" }");
    let mut files = vec![Source::new("slack.yaml", file)];
    if let Some(block) = tenant {
        files.push(Source::new("tenants.yaml", format!("tenant_rules: {{ acme: {{ {block} }} }}")));
    }
    let loaded = Policies::parse(&files).unwrap_or_else(|errors| panic!("{}\n{files:?}", lines(&errors)));
    loaded.policies.compile(&tools()).unwrap_or_else(|errors| panic!("{}", lines(&errors))).0
}

fn callers() -> impl Iterator<Item = Caller> {
    CALLERS.into_iter().map(caller)
}

proptest! {
    #[test]
    fn a_further_layer_never_widens_a_view(platform in drawn(), layers in [drawn(), drawn(), drawn()]) {
        let [t, c, s] = &layers;
        let steps = [[None; 3], [Some(t), None, None], [Some(t), Some(c), None], [Some(t), Some(c), Some(s)]];
        let built = steps.map(|layers| build(&platform, layers));
        for who in callers() {
            for pair in built.windows(2) {
                prop_assert!(pair[1].view(&who).is_subset(&pair[0].view(&who)));
            }
        }
    }

    #[test]
    fn a_further_deny_never_widens_a_view(
        platform in drawn(), layer in drawn(), at in 0..4_usize, tool in 0..NAMES.len(), toolset in 0..TOOLSETS.len()
    ) {
        let mut blocks = [platform, layer.clone(), layer.clone(), layer];
        let before = build(&blocks[0], [Some(&blocks[1]), Some(&blocks[2]), Some(&blocks[3])]);
        blocks[at].deny_tools.push(tool);
        blocks[at].deny_toolsets.push(toolset);
        let after = build(&blocks[0], [Some(&blocks[1]), Some(&blocks[2]), Some(&blocks[3])]);
        for who in callers() {
            prop_assert!(after.view(&who).is_subset(&before.view(&who)));
        }
    }

    #[test]
    fn sets_and_words_agree(platform in drawn(), layers in [drawn(), drawn(), drawn()]) {
        let [t, c, s] = &layers;
        let policies = build(&platform, [Some(t), Some(c), Some(s)]);
        for who in callers() {
            let seen = policies.view(&who);
            for (ix, tool) in policies.tools().iter().enumerate() {
                let verdicts = policies.explain(&who, &tool.name);
                // Whether people can be asked does not decide over a permit: it says itself that they have to be.
                let no = verdicts.iter().find(|verdict| !verdict.allowed && verdict.layer != PolicyLayer::Approval);
                match permit(&policies, &policies, &who, &tool.name, None) {
                    Ok(permit) => {
                        prop_assert!(no.is_none() && seen.contains(ix));
                        prop_assert!(permit.rights().allows(&tool.name));
                    }
                    Err(refusal) => {
                        let no = no.expect("a refused call has a layer that refuses it");
                        prop_assert_eq!((refusal.layer, &refusal.rule, refusal.line), (no.layer, &no.rule, no.line));
                        prop_assert!(!seen.contains(ix), "{refusal}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_childs_rights_are_within_its_parents(first in drawn(), second in drawn(), layer in drawn()) {
        let (one, two) = (build(&first, [None; 3]), build(&second, [Some(&layer); 3]));
        for who in callers() {
            let permits: Vec<_> = NAMES.iter().filter_map(|tool| permit(&one, &one, &who, tool, None).ok()).collect();
            for parent in permits {
                for tool in NAMES {
                    let Ok(child) = permit(&two, &two, &who, tool, Some(parent.rights())) else { continue };
                    prop_assert!(parent.rights().allows(tool));
                    prop_assert!(child.rights().iter().all(|held| parent.rights().allows(held)));
                    prop_assert!(permit(&two, &two, &who, tool, None).is_ok());
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused_with_its_place(text in "[a-z:\\[\\]{},\"'&*?|>#\\- \n\t]{0,120}") {
        let source = Source::new("x.yaml", format!("platform: web\n{text}"));
        for error in Policies::parse(&[source]).map(|_| ()).err().into_iter().flatten() {
            prop_assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
        }
    }
}
