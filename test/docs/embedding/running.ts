import { AgentService } from '@beaver/service'

const service = new AgentService({ config: { daemon: { tasks_max: 20 } } })
service.onShutdown(() => console.log('closed'))
await service.start()

const questions = ['Who are you?', 'What can you do?']
const answers = await Promise.all(
  questions.map((question) => service.submitDirect(question, { sessionId: 'interview' })),
)
console.log(answers.map(({ status }) => status))

await service.stop({ graceMs: 60_000, force: true })
await service.close()
