//! What the targets stream: two seconds of three levels.

use std::sync::{Arc, LazyLock};

use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_adaptive::source::PacketSource;
use framewire_adaptive::stored::LadderSource;
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};

pub(crate) static MOVIE: LazyLock<(Arc<LadderSource>, Arc<FramePlan>)> = LazyLock::new(|| {
    let rate = FrameRate { numerator: 25, denominator: 1 };
    let level = |size| Level::of_sizes(rate, 5, &[size; 50]).expect("invariant: frames have sizes");
    let ladder = Ladder::new([600, 1_300, 2_500].map(level).into()).expect("invariant: levels are aligned");
    let schedule = Schedule::new(&ladder, ScheduleSettings::PAPER).expect("invariant: 50 frames make 10 segments");
    let source = Arc::new(LadderSource::new(ladder, 1_000));
    let plan = Arc::new(FramePlan::new(&schedule, source.duration()));
    (source, plan)
});
