import { aiSdkModel } from '@beaver/ai-sdk'
import { AgentService } from '@beaver/service'
import { MockLanguageModelV4 } from 'ai/test'

// In place of `openai('gpt-5')`, a model that the AI SDK has for tests.
const model = new MockLanguageModelV4({
  provider: 'mock',
  modelId: 'mock-1',
  doGenerate: {
    content: [{ type: 'text', text: 'Hello from the AI SDK.' }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: {
      inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 5, text: 5, reasoning: 0 },
    },
    warnings: [],
  },
})

await using service = new AgentService({ models: { main: aiSdkModel(model, { contextTokens: 400_000 }) } })
const result = await service.processDirect('Say hello.')
console.log(result.provider_name, result.output_text)
