// SPDX-License-Identifier: MIT
//! burn, with its backend flex, as a peer of convbench: the protocol is in ../README.md.  It knows plain NCHW only.

mod problem;

use burn::tensor::{activation, module::conv2d, ops::ConvOptions, Device, Tensor, TensorData};
use problem::{values, Problem};
use std::io::{BufRead, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

const SHORTEST_SAMPLE: f64 = 50e-6;
const SAMPLES: usize = 64;
/// Next to no arithmetic: the time of this one is the way into the library and back.
const TINY: &str = "n=1 c=16 h=1 w=1 k=16 r=1 s=1 sh=1 sw=1 dh=1 dw=1 pt=0 pb=0 pl=0 pr=0 g=1 bias=0 act=none a=0 b=0";

#[derive(Clone, Copy)]
enum Activation {
    None,
    Relu,
    Leaky(f64),
    Clamp(f64, f64),
}

struct Prepared {
    input: Tensor<4>,
    weights: Tensor<4>,
    bias: Option<Tensor<1>>,
    options: ConvOptions<2>,
    activation: Activation,
    calls: Option<usize>, // per sample, once it is known
    result: Option<Tensor<4>>,
}

fn tensor<const D: usize>(shape: [usize; D], seed: u32) -> Tensor<D> {
    let data = TensorData::new(values(shape.iter().product(), seed), shape);
    Tensor::from_data(data, &Device::flex())
}

fn prepare(p: &Problem) -> Result<Prepared, String> {
    let [k, c, r, s, groups] = p.numbers(["k", "c", "r", "s", "g"])?;
    let [top, bottom, left, right] = p.numbers(["pt", "pb", "pl", "pr"])?;
    let mut options = ConvOptions::new(p.numbers(["sh", "sw"])?, [0, 0], p.numbers(["dh", "dw"])?, groups);
    options.padding = [(top, bottom), (left, right)];
    let activation = match p.word("act")? {
        "none" => Activation::None,
        "relu" => Activation::Relu,
        "leaky" => Activation::Leaky(p.real("a")?),
        "clamp" => Activation::Clamp(p.real("a")?, p.real("b")?),
        other => return Err(format!("do {other}")),
    };
    Ok(Prepared {
        input: tensor(p.numbers(["n", "c", "h", "w"])?, 1),
        weights: tensor([k, c / groups, r, s], 2),
        bias: if p.number("bias")? == 1 { Some(tensor([k], 3)) } else { None },
        options,
        activation,
        calls: None,
        result: None,
    })
}

impl Prepared {
    fn call(&mut self) {
        self.result = None; // the next one may have its memory again
        let (input, weights) = (self.input.clone(), self.weights.clone()); // counts references
        let result = conv2d(input, weights, self.bias.clone(), self.options.clone());
        self.result = Some(match self.activation {
            Activation::None => result,
            Activation::Relu => activation::relu(result),
            Activation::Leaky(slope) => activation::leaky_relu(result, slope),
            Activation::Clamp(low, high) => result.clamp(low, high),
        });
    }

    /// Seconds of one call, a mean over count of them.
    fn time(&mut self, count: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..count {
            self.call();
        }
        start.elapsed().as_secs_f64() / count as f64
    }

    fn samples(&mut self, budget: f64) -> (usize, Vec<f64>) {
        self.call();
        let shortest = SHORTEST_SAMPLE.max(budget / SAMPLES as f64);
        let mut count = self.calls.unwrap_or(1);
        while self.calls.is_none() && self.time(count) * (count as f64) < shortest {
            count *= 2;
        }
        self.calls = Some(count);
        let end = Instant::now() + Duration::from_secs_f64(budget);
        let mut samples = vec![self.time(count)];
        while samples.len() < SAMPLES && Instant::now() < end {
            samples.push(self.time(count));
        }
        (count, samples)
    }

    fn write(&self, path: &str) -> Result<usize, String> {
        let result = self.result.clone().ok_or("before a run")?;
        let floats = result.into_data().try_to_vec::<f32>().map_err(|error| format!("{error:?}"))?;
        let bytes: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(path, bytes).map_err(|error| error.to_string())?;
        Ok(floats.len())
    }
}

fn tiny_note() -> String {
    let (_, mut samples) = prepare(&Problem::parse(TINY)).expect("it is a problem").samples(0.005);
    samples.sort_by(f64::total_cmp);
    format!("flex, {:.1} us for a tiny call", samples[samples.len() / 2] * 1e6)
}

fn answer(prepared: &mut Option<Prepared>, line: &str, note: &str) -> Result<String, String> {
    let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
    match command {
        "problem" => {
            *prepared = None; // frees its memory first
            let mut fresh = prepare(&Problem::parse(rest))?;
            fresh.call();
            *prepared = Some(fresh);
            Ok(format!("ready {note}"))
        }
        "drop" => {
            *prepared = None;
            Ok("dropped".to_string())
        }
        "run" => {
            let budget = rest.parse().map_err(|_| format!("run for {rest}"))?;
            let (count, samples) = prepared.as_mut().ok_or("run before a problem is ready")?.samples(budget);
            let samples: Vec<String> = samples.iter().map(|seconds| format!("{seconds:.9e}")).collect();
            Ok(format!("times {count} {}", samples.join(" ")))
        }
        "output" => Ok(format!("written {}", prepared.as_ref().ok_or("before a problem is ready")?.write(rest)?)),
        _ => Err(format!("understand {command}")),
    }
}

fn main() {
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("threads", count)) => std::env::set_var("RAYON_NUM_THREADS", count),
            Some(("isa", isa)) if isa != "any" => {
                println!("missing burn chooses its instructions itself and cannot be held to {isa}");
                return;
            }
            _ => {}
        }
    }
    println!("peer nchw burn 0.22.1 (flex)");
    let note = tiny_note();
    let mut prepared = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line == "quit" {
            break;
        }
        let reply = catch_unwind(AssertUnwindSafe(|| answer(&mut prepared, &line, &note)))
            .unwrap_or_else(|_| Err("do this: burn panics".to_string()))
            .unwrap_or_else(|reason| format!("cannot {reason}"));
        println!("{}", reply.replace('\n', " "));
        std::io::stdout().flush().expect("convbench reads the answers");
    }
}
