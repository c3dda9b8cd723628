// A program with agents in it. They have the tools and skills that beaver.config.json names.
import { AgentService } from '@beaver/service'

await using service = new AgentService({ workspace: import.meta.dirname })
const task = process.argv[2] ?? 'How long do we have until the release?'
const { output_text, status, model } = await service.processDirect(task, { skill: 'release-plan' })
console.log(output_text)
console.log(`${status}, ${model}`)
