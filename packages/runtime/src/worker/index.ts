export { serveShard } from './serve-shard.ts'
