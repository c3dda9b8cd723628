import { AgentService } from '@beaver/service'

const service = new AgentService()
await service.start()
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void service.shutdown({ graceMs: 10_000 }))

// Run again after a crash, this line waits for the same task; it does not begin a second one.
const report = await service.submitDirect('Report on the sales of May.', { taskId: 'sales-2026-05' })
console.log(report.output_text)
await service.shutdown()
