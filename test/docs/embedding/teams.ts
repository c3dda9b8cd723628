import { AgentService, AgentTeam } from '@beaver/service'

declare module '@beaver/service' {
  interface WorkflowArguments {
    'workflow:review': { readonly text: string }
  }
}

await using service = new AgentService()
await service.boot()

const team = new AgentTeam(service.client, { strategy: 'broadcast', members: ['optimist', 'sceptic'] })
const { success } = await team.run('Should we ship on Friday?', { title: 'Release' })

const { status } = await service.processDirect({
  workflow: 'SequentialWorkflow',
  arguments: {
    task: 'Describe the tides.',
    agents: [
      { name: 'writer', instruction: 'Draft one sentence.' },
      { name: 'checker', instruction: 'Check the draft.' },
    ],
  },
})
console.log(success, status)
