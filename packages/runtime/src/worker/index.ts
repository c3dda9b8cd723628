export type { ShardPlace } from './protocol.ts'
export { guardThread, serveShard } from './serve-shard.ts'
