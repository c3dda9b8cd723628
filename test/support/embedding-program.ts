// A program that embeds Beaver and is killed by its test: it submits one task and waits. Its options come as
// JSON.
import { AgentService, type AgentServiceOptions } from '@beaver/service'

const service = new AgentService(JSON.parse(process.argv[2] ?? '{}') as AgentServiceOptions)
await service.start()
const { nats_server_pid } = await service.boot()
process.send?.({ nats_server_pid })
await service.submitDirect('Survive your program.', { taskId: 'survivor' })
