// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * TCP Veno: Vegas' estimate of the queue distinguishes losses of congestion from losses of the radio.
 *
 * Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks" (IEEE JSAC 21(2), 2003), as the
 * kernel's module of that name has it.
 */
#include "tcp.h"

/* Packets in the queue from which a loss is taken for congestion (section III of the paper), in halves. */
#define CONGESTED (3 << 1)
#define TOO_FEW_SAMPLES 2

struct veno {
	__u32 is_active;
	__u32 samples;
	__u32 least_of_round;
	__u32 least;
	__u32 takes_step;
	__u32 queued; /* packets in the queue, in halves */
};

static __always_inline void begin(struct veno *ca)
{
	ca->least = NO_DELAY;
	ca->takes_step = 1;
	ca->is_active = 1;
	ca->least_of_round = NO_DELAY;
}

HOOK void BPF_PROG(veno_init, struct sock *sk)
{
	struct veno *ca = state_of(sk);

	ca->samples = 0;
	ca->queued = 0;
	begin(ca);
}

HOOK void BPF_PROG(veno_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *ca = state_of(sk);
	__s32 rtt = sample->rtt_us;

	if (rtt < 0)
		return;
	/* Never zero. */
	rtt++;
	ca->least = least_of(ca->least, (__u32)rtt);
	ca->least_of_round = least_of(ca->least_of_round, (__u32)rtt);
	ca->samples++;
}

static __always_inline void grow(struct tcp_sock *tp, struct veno *ca, __u32 acked)
{
	__u32 cwnd = tp->snd_cwnd;

	if (ca->queued < CONGESTED) {
		tcp_cong_avoid_ai(tp, cwnd, acked);
	} else if (tp->snd_cwnd_cnt >= cwnd) {
		if (ca->takes_step && cwnd < tp->snd_cwnd_clamp) {
			tp->snd_cwnd = cwnd + 1;
			ca->takes_step = 0;
		} else {
			ca->takes_step = 1;
		}
		tp->snd_cwnd_cnt = 0;
	} else {
		tp->snd_cwnd_cnt += acked;
	}
}

HOOK void BPF_PROG(veno_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = state_of(sk);
	__u32 twice, rtt;

	if (!ca->is_active) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (!is_limited(tp))
		return;
	rtt = ca->least_of_round;
	if (ca->samples <= TOO_FEW_SAMPLES || !rtt) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else {
		/* N of the paper: the window less what the actual rate needs without a queue. */
		twice = tp->snd_cwnd << 1;
		ca->queued = twice - (__u32)((__u64)twice * ca->least / rtt);
		if (in_slow_start(tp))
			acked = tcp_slow_start(tp, acked);
		if (acked)
			grow(tp, ca, acked);
		if (tp->snd_cwnd < LEAST_WINDOW)
			tp->snd_cwnd = LEAST_WINDOW;
		else if (tp->snd_cwnd > tp->snd_cwnd_clamp)
			tp->snd_cwnd = tp->snd_cwnd_clamp;
	}
	ca->least_of_round = NO_DELAY;
}

HOOK void BPF_PROG(veno_state, struct sock *sk, __u8 state)
{
	struct veno *ca = state_of(sk);

	ca->is_active = state == TCP_CA_Open;
	if (ca->is_active)
		ca->least_of_round = NO_DELAY;
}

HOOK void BPF_PROG(veno_event, struct sock *sk, int event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		begin(state_of(sk));
}

/* A fifth less when the queue was short, for then the loss was none of congestion; else half. */
HOOK __u32 BPF_PROG(veno_ssthresh, struct sock *sk)
{
	struct veno *ca = state_of(sk);
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return most_of(ca->queued < CONGESTED ? (__u32)((__u64)cwnd * 4 / 5) : cwnd >> 1, LEAST_WINDOW);
}

HOOK __u32 BPF_PROG(veno_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.init = (void *)veno_init,
	.pkts_acked = (void *)veno_acked,
	.cong_avoid = (void *)veno_cong_avoid,
	.set_state = (void *)veno_state,
	.cwnd_event = (void *)veno_event,
	.ssthresh = (void *)veno_ssthresh,
	.undo_cwnd = (void *)veno_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
