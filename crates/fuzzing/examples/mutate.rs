use std::time::{Duration, Instant};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seconds: u64 = args[1].parse().unwrap();
    let mut state: u64 = args[2].parse().unwrap();
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for target in &args[3..] {
        let folder = format!("fuzz/corpus/{target}");
        let seeds: Vec<Vec<u8>> =
            std::fs::read_dir(folder).unwrap().map(|e| std::fs::read(e.unwrap().path()).unwrap()).collect();
        let until = Instant::now() + Duration::from_secs(seconds);
        let mut runs = 0u64;
        while Instant::now() < until {
            let mut data = seeds[next() as usize % seeds.len()].clone();
            for _ in 0..1 + next() % 6 {
                if data.is_empty() {
                    break;
                }
                let at = next() as usize % data.len();
                match next() % 6 {
                    0 => data[at] ^= 1 << (next() % 8),
                    1 => data[at] = next() as u8,
                    2 => data.truncate(at),
                    3 => {
                        data.remove(at);
                    }
                    4 => {
                        let other = &seeds[next() as usize % seeds.len()];
                        let n = next() as usize % (other.len() + 1);
                        let piece = other[..n].to_vec();
                        data.splice(at..at, piece);
                    }
                    _ => {
                        let end = (at + next() as usize % 40).min(data.len());
                        let piece = data[at..end].to_vec();
                        data.splice(at..at, piece);
                    }
                }
            }
            std::fs::write("/tmp/b/cod/last-input", &data).ok();
            framewire_fuzzing::run(target, &data);
            runs += 1;
        }
        println!("{target}: {runs} runs");
    }
}
