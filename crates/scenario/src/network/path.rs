//! The short forms of a network: sender, a wire or a wireless hop and a wire, receiver.

use std::path::Path;

use framewire_link::{BottleneckPlace, Interval};
use schemars::JsonSchema;
use serde::Serialize;

use super::NetworkKind;
use super::wire::Wire;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;
use crate::wifi::Wifi;

/// The `[network]` table of a network between a sender and a receiver.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PathNetwork {
    /// What lies between sender and receiver.
    pub kind: NetworkKind,
    /// Where packets wait. Default: `local-device` over Wi-Fi, `remote` over a wire.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<BottleneckPlace>")]
    pub bottleneck: BottleneckPlace,
    /// The wireless hop; present exactly when `kind` is `wifi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The wire behind the access point, or the link itself.
    pub wire: Wire,
}

impl PathNetwork {
    pub(crate) const KEYS: &'static [&'static str] = &["kind", "bottleneck", "wifi", "wire"];

    pub(super) fn read(mut section: Section, wireless: bool, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let (kind, default_bottleneck) = match wireless {
            true => (NetworkKind::Wifi, BottleneckPlace::LocalDevice),
            false => (NetworkKind::Wired, BottleneckPlace::Remote),
        };
        let bottleneck = section.text("bottleneck")?.unwrap_or(default_bottleneck);
        if !wireless && section.has("wifi") {
            let key = section.key("wifi");
            return Err(ScenarioError::value(&key, "a table", "only with network.kind = \"wifi\""));
        }
        let wifi = match wireless {
            true => Some(Wifi::read(section.section_or_empty("wifi", Wifi::KEYS)?)?),
            false => None,
        };
        let wire = Wire::read(section.section_or_empty("wire", Wire::KEYS)?, directory)?;
        Ok(Self { kind, bottleneck, wifi, wire })
    }

    /// Every schedule of the network, with the path of its key.
    pub(super) fn schedules(&self) -> Vec<(String, Interval)> {
        let oven = self.wifi.iter().flat_map(|wifi| &wifi.oven).flat_map(|oven| &oven.on);
        let oven = oven.map(|on| ("network.wifi.oven.on".to_owned(), *on));
        let outages = self.wire.outages.iter().map(|out| ("network.wire.outages".to_owned(), *out));
        oven.chain(outages).collect()
    }
}
