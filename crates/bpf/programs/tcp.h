/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the programs of congestion control see of the kernel: the fields of its structures that they use, found in the
 * running kernel by name (CO-RE) where they are loaded, and what several of them need.
 *
 * They are licensed "Dual MIT/GPL", which is what the kernel asks of programs that call its own functions.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))

struct sock {
	unsigned long sk_pacing_rate;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[13];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 max_packets_out;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u8 is_cwnd_limited : 1;
	__u8 ecn_flags;
} KERNEL;

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
} KERNEL;

/* The kernel's table of an algorithm; it is filled by the names of its members. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, __u32, __u32);
	void (*set_state)(struct sock *, __u8);
	void (*cwnd_event)(struct sock *, int);
	void (*in_ack_event)(struct sock *, __u32);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	__u32 (*undo_cwnd)(struct sock *);
	void (*init)(struct sock *);
	char name[16];
	__u32 flags;
};

/* include/net/tcp.h of the kernel. */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
enum { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS, CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE };
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
#define CA_ACK_SLOWPATH 1

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define HOOK SEC("struct_ops")
#define LICENSE char _license[] SEC("license") = "Dual MIT/GPL"

/* No window goes below this, in packets (RFC 5681, equation 4). */
#define LEAST_WINDOW 2
/* A delay that no path has. */
#define NO_DELAY 0x7fffffff
/* The coarse clock of modules that count in jiffies: CONFIG_HZ = 250, Debian's. */
#define TICKS_PER_SECOND 250
#define MICROS_PER_TICK (1000000 / TICKS_PER_SECOND)

#define least_of(a, b) ((a) < (b) ? (a) : (b))
#define most_of(a, b) ((a) > (b) ? (a) : (b))

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* The 104 bytes that an algorithm has for each connection. */
static __always_inline void *state_of(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u8 ca_state(struct sock *sk)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

static __always_inline bool is_after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

static __always_inline bool in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* The window was the limit (RFC 7661; the kernel's tcp_is_cwnd_limited). */
static __always_inline bool is_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

static __always_inline __u32 ticks(void)
{
	return bpf_ktime_get_ns() / (MICROS_PER_TICK * 1000ULL);
}

static __always_inline __u32 ticks_in(__u32 micros)
{
	return (micros + MICROS_PER_TICK - 1) / MICROS_PER_TICK;
}
