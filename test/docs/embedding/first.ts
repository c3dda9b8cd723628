import { AgentService } from '@beaver/service'

await using service = new AgentService()
const result = await service.processDirect('Say what you are.')
console.log(result.status, result.model)
