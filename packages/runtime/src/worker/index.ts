export type { ShardPlace } from './protocol.ts'
export { serveShard } from './serve-shard.ts'
export { guardThread } from './thread-guard.ts'
