// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP Illinois: loss says when, delay says how much.
 *
 * Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks"
 * (Performance Evaluation 65, 2008), with the arithmetic of the kernel's module of that name.
 */
#include "tcp.h"

/* alpha in 1/128: at most 10, at least 0.3; beta in 1/64: 1/8 to 1/2 (section 4 of the paper). */
#define ALPHA_UNIT 128
#define ALPHA_LEAST (3 * ALPHA_UNIT / 10)
#define ALPHA_MOST (10 * ALPHA_UNIT)
#define BETA_UNIT 64
#define BETA_LEAST (BETA_UNIT / 8)
#define BETA_MOST (BETA_UNIT / 2)
/* Reno below this window. */
#define WINDOW_THRESHOLD 15
/* Rounds of small delay before alpha returns to its maximum. */
#define LOW_ROUNDS 5

struct illinois {
	__u64 sum;
	__u32 samples;
	__u32 least;
	__u32 most;
	__u32 round_end;
	__u32 alpha;
	__u32 beta;
	__u32 acked;
	__u32 was_above;
	__u32 low_rounds;
};

static __always_inline void forget_round(struct tcp_sock *tp, struct illinois *ca)
{
	ca->round_end = tp->snd_nxt;
	ca->samples = 0;
	ca->sum = 0;
}

/* Equation 3 of the paper. */
static __always_inline __u32 alpha_for(struct illinois *ca, __u32 average, __u32 longest)
{
	__u32 low = longest / 100;

	if (average <= low) {
		if (!ca->was_above)
			return ALPHA_MOST;
		ca->low_rounds++;
		if (ca->low_rounds < LOW_ROUNDS)
			return ca->alpha;
		ca->low_rounds = 0;
		ca->was_above = 0;
		return ALPHA_MOST;
	}
	ca->was_above = 1;
	longest -= low;
	average -= low;
	return (__u64)longest * ALPHA_MOST / (longest + (__u64)average * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST);
}

/* Equation 4. */
static __always_inline __u32 beta_for(__u32 average, __u32 longest)
{
	__u32 low = longest / 10, high = (__u64)longest * 8 / 10;

	if (average <= low)
		return BETA_LEAST;
	if (average >= high || high <= low)
		return BETA_MOST;
	return ((__u64)BETA_LEAST * high + (__u64)(BETA_MOST - BETA_LEAST) * average - (__u64)BETA_MOST * low) /
	       (high - low);
}

static __always_inline void update(struct tcp_sock *tp, struct illinois *ca)
{
	if (tp->snd_cwnd < WINDOW_THRESHOLD) {
		ca->alpha = ALPHA_UNIT;
		ca->beta = BETA_MOST;
	} else if (ca->samples > 0) {
		__u32 longest = ca->most - ca->least;
		__u32 average = ca->sum / ca->samples - ca->least;

		ca->alpha = alpha_for(ca, average, longest);
		ca->beta = beta_for(average, longest);
	}
	forget_round(tp, ca);
}

HOOK void BPF_PROG(illinois_init, struct sock *sk)
{
	struct illinois *ca = state_of(sk);

	ca->alpha = ALPHA_MOST;
	ca->beta = BETA_MOST;
	ca->least = NO_DELAY;
	ca->most = 0;
	ca->acked = 0;
	ca->low_rounds = 0;
	ca->was_above = 0;
	forget_round(tcp_sk(sk), ca);
}

HOOK void BPF_PROG(illinois_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = state_of(sk);
	__s32 rtt = sample->rtt_us;

	ca->acked = sample->pkts_acked;
	if (rtt < 0)
		return;
	if ((__u32)rtt < ca->least)
		ca->least = rtt;
	if ((__u32)rtt > ca->most)
		ca->most = rtt;
	ca->samples++;
	ca->sum += rtt;
}

HOOK void BPF_PROG(illinois_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = state_of(sk);

	if (is_after(ack, ca->round_end))
		update(tp, ca);
	if (!is_limited(tp))
		return;
	if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	__u32 count = tp->snd_cwnd_cnt + ca->acked;
	__u32 cwnd = tp->snd_cwnd;
	__u32 delta = ((__u64)count * ca->alpha) / ALPHA_UNIT;

	ca->acked = 1;
	if (cwnd && delta >= cwnd) {
		tp->snd_cwnd = least_of(cwnd + delta / cwnd, tp->snd_cwnd_clamp);
		count = 0;
	}
	tp->snd_cwnd_cnt = count;
}

HOOK __u32 BPF_PROG(illinois_ssthresh, struct sock *sk)
{
	struct illinois *ca = state_of(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return most_of(cwnd - (__u32)((__u64)cwnd * ca->beta / BETA_UNIT), LEAST_WINDOW);
}

HOOK void BPF_PROG(illinois_state, struct sock *sk, __u8 state)
{
	struct illinois *ca = state_of(sk);

	if (state != TCP_CA_Loss)
		return;
	ca->alpha = ALPHA_UNIT;
	ca->beta = BETA_MOST;
	ca->low_rounds = 0;
	ca->was_above = 0;
	forget_round(tcp_sk(sk), ca);
}

HOOK __u32 BPF_PROG(illinois_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)illinois_init,
	.pkts_acked = (void *)illinois_acked,
	.cong_avoid = (void *)illinois_cong_avoid,
	.ssthresh = (void *)illinois_ssthresh,
	.set_state = (void *)illinois_state,
	.undo_cwnd = (void *)illinois_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
