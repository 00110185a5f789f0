// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP Vegas: keeps between two and four packets in the queue.
 *
 * Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (IEEE JSAC 13(8), 1995), as the
 * kernel's module of that name has it.
 */
#include "tcp.h"

/* Packets in the queue: fewer, grow; more, shrink; more in slow start, leave it. */
#define ALPHA 2
#define BETA 4
#define GAMMA 1
/* Samples without which a round says nothing. */
#define TOO_FEW_SAMPLES 2

struct vegas {
	__u32 round_end;
	__u32 is_active;
	__u32 samples;
	__u32 least_of_round;
	__u32 least;
};

static __always_inline void enable(struct tcp_sock *tp, struct vegas *ca)
{
	ca->is_active = 1;
	ca->round_end = tp->snd_nxt;
	ca->samples = 0;
	ca->least_of_round = NO_DELAY;
}

/* The decision of a round. */
static __always_inline void adjust(struct sock *sk, struct tcp_sock *tp, struct vegas *ca, __u32 acked)
{
	__u32 rtt = ca->least_of_round, least = ca->least, cwnd = tp->snd_cwnd;
	__u32 target, queued;

	if (!rtt || !least)
		return;
	target = (__u64)cwnd * least / rtt;
	queued = (__u64)cwnd * (rtt - least) / least;
	if (queued > GAMMA && in_slow_start(tp)) {
		cwnd = least_of(cwnd, target + 1);
		tp->snd_cwnd = cwnd;
		tp->snd_ssthresh = least_of(tp->snd_ssthresh, cwnd);
	} else if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	} else if (queued > BETA) {
		cwnd--;
		tp->snd_cwnd = cwnd;
		tp->snd_ssthresh = least_of(tp->snd_ssthresh, cwnd);
	} else if (queued < ALPHA) {
		tp->snd_cwnd = cwnd + 1;
	}
	cwnd = tp->snd_cwnd;
	if (cwnd < LEAST_WINDOW)
		cwnd = LEAST_WINDOW;
	else if (cwnd > tp->snd_cwnd_clamp)
		cwnd = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cwnd;
	__u8 state = ca_state(sk);
	/* The kernel's tcp_current_ssthresh. */
	if (state != TCP_CA_CWR && state != TCP_CA_Recovery)
		tp->snd_ssthresh = most_of(tp->snd_ssthresh, (cwnd >> 1) + (cwnd >> 2));
}

HOOK void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *ca = state_of(sk);

	ca->least = NO_DELAY;
	enable(tcp_sk(sk), ca);
}

HOOK void BPF_PROG(vegas_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *ca = state_of(sk);
	__s32 rtt = sample->rtt_us;

	if (rtt < 0)
		return;
	/* Never zero. */
	rtt++;
	ca->least = least_of(ca->least, (__u32)rtt);
	ca->least_of_round = least_of(ca->least_of_round, (__u32)rtt);
	ca->samples++;
}

HOOK void BPF_PROG(vegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = state_of(sk);

	if (!ca->is_active) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (is_after(ack, ca->round_end)) {
		ca->round_end = tp->snd_nxt;
		if (ca->samples <= TOO_FEW_SAMPLES)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			adjust(sk, tp, ca, acked);
		ca->samples = 0;
		ca->least_of_round = NO_DELAY;
	} else if (in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
	}
}

HOOK void BPF_PROG(vegas_state, struct sock *sk, __u8 state)
{
	struct vegas *ca = state_of(sk);

	if (state == TCP_CA_Open)
		enable(tcp_sk(sk), ca);
	else
		ca->is_active = 0;
}

HOOK void BPF_PROG(vegas_event, struct sock *sk, int event)
{
	struct vegas *ca = state_of(sk);

	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START) {
		ca->least = NO_DELAY;
		enable(tcp_sk(sk), ca);
	}
}

HOOK __u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

HOOK __u32 BPF_PROG(vegas_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)vegas_init,
	.pkts_acked = (void *)vegas_acked,
	.cong_avoid = (void *)vegas_cong_avoid,
	.set_state = (void *)vegas_state,
	.cwnd_event = (void *)vegas_event,
	.ssthresh = (void *)vegas_ssthresh,
	.undo_cwnd = (void *)vegas_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
