/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BASE_LIMITS_H
#define CORE_BASE_LIMITS_H

/* Every bound in the program, each with its why. */

/* Names, NULs included. */
#define NAME_BYTES 254		/* DNS-1123 subdomain: 253 */
#define POOL_BYTES 64		/* a label value: 63 */
#define UID_BYTES 40		/* a UUID: 36 */
#define RV_BYTES 32		/* resourceVersion: 64 bits in decimal, and room */
#define KEY_BYTES 318		/* annotation key: 253 + '/' + 63 */
#define VALUE_BYTES 254		/* a hold's value; longer ones are refused */
#define HELD_KEY_BYTES (KEY_BYTES + VALUE_BYTES)	/* KEY=VALUE */
#define CLASS_BYTES 56		/* "substitute/" and a uid; longer are cut off */
#define CONTINUE_BYTES 4096	/* list token: base64 of a key and a revision */

/* The table. */
#define MACHINES_MAX 65536	/* of each kind; Kubernetes is tested to 5,000 */
#define ANNOTATIONS_BYTES_MAX (256u << 10)	/* Kubernetes' own, an object */
#define ANNOTATIONS_ROOM 2048	/* hold, mark and held-key at their longest */
#define DISRUPTION_EVENTS_MAX 16384		/* said of claims that are yet to be seen */
#define DISRUPTIONS_MAX 64	/* moments at which claims came to be disrupted */
#define DISRUPTION_MS 10000	/* a claim made so soon after may replace one */
#define DISRUPTION_SIGN_MS 60000	/* … and does, if Karpenter's Event says so */
#define STAMPS_MS 1000		/* whole seconds of two clocks */
#define DELETIONS_MAX 4096	/* remembered, for those who substitute them */
#define SUBSTITUTE_MS 60000	/* a deletion's substitute comes so soon */
#define DRAINING_MS 900000	/* … or so late, while it is still draining */
#define RETRIES_MAX 256		/* boots that failed and may be tried again */
#define AGAIN_MAX 64		/* … machines of a scope that count twice because of
				   that, towards minScaleUp */
#define RETRY_MS 60000		/* so long they go on counting */
#define UNDECIDED_MS 5000	/* after it was seen, and seen launched */
#define UNDECIDED_MAX_MS 30000
#define BLOCKED_MS 60000	/* holds without a whole view: then it is told */
#define BLOCKED_EVERY_MS 300000
#define BEGIN_WAIT_MS 10000	/* a lead waits so long for the first lists of
				   NodePools and Events */
#define MOVED_EVERY_MS 60000	/* how often it is told that a scope's quiet
				   time has moved */
#define SCOPES_MAX 4096		/* NodePools; real clusters have dozens */
#define HELD_KEYS_MAX 16	/* former holds whose marks are outstanding */
#define POOL_PATTERNS_MAX 64
#define POOL_PATTERN_BYTES 128

/* An AdmissionReview. */
#define REVIEW_BYTES_MAX (7u << 20)	/* a 3 MiB protobuf object as JSON, as
					   controller-runtime allows */
#define REVIEW_BYTES_BIG (256u << 10)	/* above this at most REVIEWS_BIG_MAX
					   are parsed at once */
#define REVIEWS_BIG_MAX 2
#define JSON_DEPTH_MAX 64
#define JSON_VALUES_MAX 100000	/* 7 MiB of `"",` cost cJSON 269 MB */

/* The webhook server. */
#define SERVER_BYTES_MAX (32u << 20)	/* bodies held at once: beyond, 503 */
#define SERVER_DISCARD_MAX (32u << 20)	/* of a refused body, so that the
					   answer is not lost in a reset */
#define SERVER_CONNECTIONS_MAX 4096	/* one per create in flight, and idle */
#define SERVER_TRIM 256	/* connections gone: what a flood took stayed ours */
#define SERVER_THREADS 2
#define SERVER_HEAD_MS 10000	/* handshake; request line to complete head */
#define SERVER_HURRY_MS 1000	/* the same where a quarter of the places is
					   left: a webhook call is given 2 s */
#define SERVER_BODY_MS 10000	/* head to complete body: Kubernetes gives a
				   webhook 30 s at most, we are given 2 */
#define SERVER_REPLY_MS 10000	/* a reader that never reads */
#define SERVER_IDLE_MS 120000	/* above the API server's 90 s, which does not
				   retry when we close first */
#define DRAIN_QUIET_MS 10000	/* SIGTERM, or the last connection, to the end:
				   a Service lets go of a pod a few seconds
				   after its kubelet has told it to stop */

#define CERT_LOOK_MS 1000	/* stat of the pair's files */
#define HEART_MS 30000		/* a thread silent for longer is stuck */

/* The API client. */
#define LIST_PAGE 500		/* items a page, as client-go */
#define LIST_PAGES_MAX 1000	/* of one list: more than a cluster has */
#define ITEM_BYTES_MAX (8u << 20)	/* etcd holds 1.5 MiB an object */
#define ENVELOPE_BYTES_MAX (64u << 10)	/* a list without its items, a Status */
#define LIST_MS 60000		/* one page */
#define CALL_MS 10000		/* a patch or a get */
#define CONNECT_MS 5000
#define KEEPALIVE_IDLE_S 15	/* a dead peer is found within 30 s: 15 idle + */
#define KEEPALIVE_PROBE_S 5	/* three probes */
#define WATCH_MIN_S 300		/* client-go asks for 5 to 10 minutes */
#define WATCH_SILENT_MS 150000	/* 2.5 bookmark periods of a minute */
#define BACKOFF_MIN_MS 800	/* client-go's reflector */
#define BACKOFF_MAX_MS 10000	/* client-go: 30 s; two watches a replica are
				   no load, and an outage should end at once */
#define BACKOFF_RESET_MS 120000
#define UNSERVED_MS 5000	/* how often we ask again for a missing CRD */
#define TOKEN_BYTES_MAX (64u << 10)	/* of a service account: 2 KiB */
#define HEAD_BYTES_MAX (64u << 10)	/* of an answer; real ones: 1 KiB */
#define RETRY_AFTER_MAX_S 300	/* the API server asks for 32 s at most; a
				   proxy's hour must not stop us for one */
#define POOL_REST_MS 15000	/* an idle pool gives its connections back */
#define CONNECTION_IDLE_S 80L	/* the API server closes idle ones at 90 s */
#define TOKEN_MS 60000		/* a token file is read again, as client-go */
#define EVENT_SERIES_STOP_MS 1000	/* at the stop, for Events that are due: nobody
				   waits longer for them */

/* The controller. */
#define EXPECT_MS 10000		/* a write whose watch line does not come */
#define FRESH_RETRY_MS 1000	/* a list that knew more than the table */
#define FRESH_TRIES 5		/* such lists before the watch is mistrusted */
#define RELIST_FULL_MS 60000	/* a full table asks for what it left out */
#define NOTE_WHY_BYTES 200	/* of a refusal, cut */
#define NOTES_MAX 1024		/* told and not yet asked for */
#define HINT_WAIT_MS 5000	/* a creation just admitted */
#define HINT_EVERY_MS 60000
#define LAUNCH_GRACE_MS 5000	/* a claim without a Launched condition */
#define REHOLDS_MAX 3		/* hold and mark stripped together, a period */
#define CLOCK_SHIFT_MS 5000	/* logged */
#define SLEW_STEP_MS 10		/* of drift that is followed at once */
#define UNINSTALL_MS 600000	/* 5,000 nodes take a minute */
#define UNINSTALL_PAUSE_MS                                                     \
	5000 /* by then every API server has heard of a                        \
		webhook that is gone, and Karpenter of a claim                 \
		that is clear */

#define REFUSED_MIN_MS 1000	/* a write that is refused … */
#define REFUSED_MAX_MS 300000	/* … and up to as much more by jitter */
#define CONFLICT_MS 250		/* a 409 whose watch line does not come */

/* Files. */
#define CONFIG_BYTES_MAX (1u << 20)
#define CERT_BYTES_MAX (1u << 20)
#define YAML_DEPTH_MAX 64
#define YAML_NODES_MAX 100000

#endif
