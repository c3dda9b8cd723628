// The codes of JetStream's refusals that Beaver tells apart. The server's own name is beside each code.
// Source: server/errors.json of nats-server.

/** No servers can hold the stream: too few, or none with the tags. JSClusterNoPeersErrF. */
const noServers = 10_005
/** The servers are electing a leader. JSClusterNotAvailErr. */
export const noLeader = 10_008
/** JSNoMessageFoundErr. */
export const noMessage = 10_037
/** JSStreamNotFoundErr. */
export const noStream = 10_059
/** The last message is not the one that the write expects. JSStreamWrongLastSequenceErrF. */
export const wrongLastMessage = 10_071
/** More than one replica, and no cluster. JSStreamReplicasNotSupportedErr. */
const noCluster = 10_074
/** The stream takes no more messages. JSStreamStoreFailedF. */
export const fullStream = 10_077
/** The same as `wrongLastMessage`, without the sequence. JSStreamWrongLastSequenceConstantErr. */
export const wrongLastMessageAgain = 10_164

/** There are too few servers for the replicas, or none with the name of the cluster and the tags. */
export const tooFewServers = [noServers, noCluster] as const

export const isRefusedWith = (error: unknown, ...codes: readonly number[]): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' && codes.includes(error.code)
