// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * New Reno with the arithmetic of RFC 5681: the threshold after a loss is half of what is in flight (equation 4), where
 * the kernel's own `reno` takes half the window. Growth is the kernel's, which counts packets as the RFC counts bytes.
 */
#include "tcp.h"

HOOK void BPF_PROG(newreno_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

HOOK __u32 BPF_PROG(newreno_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	/* FlightSize: sent and not acknowledged by number (section 2). */
	__u32 flight = tp->packets_out;

	return most_of(flight >> 1, LEAST_WINDOW);
}

HOOK __u32 BPF_PROG(newreno_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops ops = {
	.cong_avoid = (void *)newreno_cong_avoid,
	.ssthresh = (void *)newreno_ssthresh,
	.undo_cwnd = (void *)newreno_undo,
	.flags = TCP_CONG_NON_RESTRICTED,
};

LICENSE;
