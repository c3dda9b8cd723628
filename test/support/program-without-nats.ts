// A program that embeds Beaver and loses its NATS server: it runs one task, waits for a word, and shuts its
// service down. Its options come as JSON.
import { AgentService, type AgentServiceOptions } from '@beaver/service'

const service = new AgentService(JSON.parse(process.argv[2] ?? '{}') as AgentServiceOptions)
await service.processDirect('Say what you are.')
process.once('message', () => {
  process.disconnect?.()
  void service.shutdown({ graceMs: 0 })
})
process.send?.('done')
