// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * H-TCP: grows the faster the longer the last loss is past, and backs off by what empties the queue.
 *
 * Shorten and Leith, "H-TCP: TCP for high-speed and long-distance networks" (PFLDnet 2004), as the kernel's module of that
 * name has it.
 */
#include "tcp.h"

/* alpha and beta in 1/128; the factor of a reduction is 0.5 to 0.8. */
#define UNIT 128
#define BETA_LEAST (UNIT / 2)
#define BETA_MOST 102
/* Delta_L: for this long after a loss it is Reno. */
#define RENO_TIME TICKS_PER_SECOND
/* The longest delay grows by no more than 20 ms per sample; paths of at most 10 ms take the least factor. */
#define LARGEST_JUMP (TICKS_PER_SECOND / 50)
#define SHORT_PATH ((TICKS_PER_SECOND + 99) / 100)

struct htcp {
	__u32 alpha;
	__u32 beta;
	__u32 is_adaptive;
	__u32 acked;
	__u32 least;
	__u32 most;
	__u32 last_reduction;
	__u32 undo_reduction; /* 0: nothing to take back */
	__u32 undo_most;
	__u32 undo_bandwidth;
	__u32 packets;
	__u32 since;
	__u32 smoothed;
	__u32 bandwidth;
	__u32 bandwidth_before;
};

static __always_inline void measure_delay(struct htcp *ca, __u32 rtt, __u8 state)
{
	if (!ca->least || rtt < ca->least)
		ca->least = rtt;
	if (state == TCP_CA_Open) {
		if (ca->most < ca->least)
			ca->most = ca->least;
		if (ca->most < rtt && rtt <= ca->most + LARGEST_JUMP)
			ca->most = rtt;
	}
}

static __always_inline void measure_bandwidth(struct tcp_sock *tp, struct htcp *ca, __u32 acked, __u8 state)
{
	__u32 now = ticks(), passed, whole, sample;

	if (state != TCP_CA_Open && state != TCP_CA_Disorder) {
		ca->packets = 0;
		ca->since = now;
		return;
	}
	ca->packets += acked;
	passed = now - ca->since;
	whole = tp->snd_cwnd - most_of(ca->alpha / UNIT, 1);
	if (ca->packets < whole || !ca->least || passed < ca->least || !passed)
		return;
	sample = (__u64)ca->packets * TICKS_PER_SECOND / passed;
	if ((now - ca->last_reduction) / ca->least <= 3) {
		/* Just after a reduction. */
		ca->smoothed = sample;
		ca->bandwidth = sample;
	} else {
		ca->smoothed = (3 * ca->smoothed + sample) / 4;
		if (ca->smoothed > ca->bandwidth)
			ca->bandwidth = ca->smoothed;
	}
	ca->packets = 0;
	ca->since = now;
}

/* alpha(Delta) = 1 + 10 (Delta - Delta_L) + 0.25 (Delta - Delta_L)^2, scaled by the round trip over 100 ms and beta. */
static __always_inline void update_alpha(struct htcp *ca)
{
	__u32 delta = ticks() - ca->last_reduction, factor = 1, scale;

	if (delta > RENO_TIME) {
		delta -= RENO_TIME;
		factor = 1 + (10 * delta + ((delta / 2) * (delta / 2) / TICKS_PER_SECOND)) / TICKS_PER_SECOND;
	}
	if (ca->least) {
		scale = (TICKS_PER_SECOND << 3) / (10 * ca->least);
		scale = least_of(most_of(scale, 4), 80);
		factor = most_of((factor << 3) / scale, 1);
	}
	ca->alpha = 2 * factor * (UNIT - ca->beta);
	if (!ca->alpha)
		ca->alpha = UNIT;
}

/* The part of the window that empties the queue, while the bandwidth is steady within a fifth. */
static __always_inline void update_beta(struct htcp *ca)
{
	__u32 before = ca->bandwidth_before, now = 5 * ca->bandwidth, beta;

	ca->bandwidth_before = ca->bandwidth;
	ca->beta = BETA_LEAST;
	if (now < 4 * before || now > 6 * before) {
		ca->is_adaptive = 0;
	} else if (ca->is_adaptive && ca->least > SHORT_PATH && ca->most) {
		beta = ca->least * UNIT / ca->most;
		ca->beta = least_of(most_of(beta, BETA_LEAST), BETA_MOST);
	} else {
		ca->is_adaptive = 1;
	}
}

HOOK void BPF_PROG(htcp_init, struct sock *sk)
{
	struct htcp *ca = state_of(sk);

	ca->alpha = UNIT;
	ca->beta = BETA_LEAST;
	ca->is_adaptive = 0;
	ca->acked = 1;
	ca->least = 0;
	ca->most = 0;
	ca->last_reduction = ticks();
	ca->undo_reduction = 0;
	ca->packets = 0;
	ca->since = 0;
	ca->smoothed = 0;
	ca->bandwidth = 0;
	ca->bandwidth_before = 0;
}

HOOK void BPF_PROG(htcp_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = state_of(sk);
	__u8 state = ca_state(sk);

	if (state == TCP_CA_Open)
		ca->acked = sample->pkts_acked;
	if (sample->rtt_us > 0)
		measure_delay(ca, ticks_in(sample->rtt_us), state);
	measure_bandwidth(tcp_sk(sk), ca, sample->pkts_acked, state);
}

HOOK void BPF_PROG(htcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = state_of(sk);
	__u32 cwnd = tp->snd_cwnd;

	if (!is_limited(tp))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	if (((__u64)tp->snd_cwnd_cnt * ca->alpha) / UNIT >= cwnd) {
		if (cwnd < tp->snd_cwnd_clamp)
			tp->snd_cwnd = cwnd + 1;
		tp->snd_cwnd_cnt = 0;
		update_alpha(ca);
	} else {
		tp->snd_cwnd_cnt += ca->acked;
	}
	ca->acked = 1;
}

HOOK __u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	struct htcp *ca = state_of(sk);

	update_beta(ca);
	update_alpha(ca);
	if (ca->least && ca->most > ca->least)
		/* Fades, for routes change. */
		ca->most = ca->least + (ca->most - ca->least) * 95 / 100;
	return most_of((__u32)((__u64)tcp_sk(sk)->snd_cwnd * ca->beta / UNIT), LEAST_WINDOW);
}

HOOK void BPF_PROG(htcp_state, struct sock *sk, __u8 state)
{
	struct htcp *ca = state_of(sk);

	if (state == TCP_CA_Open) {
		if (ca->undo_reduction) {
			ca->last_reduction = ticks();
			ca->undo_reduction = 0;
		}
	} else if (state != TCP_CA_Disorder) {
		ca->undo_reduction = ca->last_reduction;
		ca->undo_most = ca->most;
		ca->undo_bandwidth = ca->bandwidth_before;
		ca->last_reduction = ticks();
	}
}

HOOK __u32 BPF_PROG(htcp_undo, struct sock *sk)
{
	struct htcp *ca = state_of(sk);

	if (ca->undo_reduction) {
		ca->last_reduction = ca->undo_reduction;
		ca->most = ca->undo_most;
		ca->bandwidth_before = ca->undo_bandwidth;
		ca->undo_reduction = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)htcp_init,
	.pkts_acked = (void *)htcp_acked,
	.cong_avoid = (void *)htcp_cong_avoid,
	.ssthresh = (void *)htcp_ssthresh,
	.set_state = (void *)htcp_state,
	.undo_cwnd = (void *)htcp_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
