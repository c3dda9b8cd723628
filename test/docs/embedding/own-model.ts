import { AgentService, type ChatProvider } from '@beaver/service'

const parrot: ChatProvider = {
  name: 'parrot',
  model: 'parrot-1',
  async chat({ messages, signal, onText }) {
    signal.throwIfAborted()
    const content = `You said: ${messages.at(-1)?.content}`
    onText?.(content)
    return {
      content,
      toolCalls: [],
      finishReason: 'stop',
      usage: { input_tokens: 9, output_tokens: 4, calls: 1 },
      model: 'parrot-1',
      responseId: null,
    }
  },
}

await using service = new AgentService({ models: { main: parrot } })
const { output_text, provider_name } = await service.processDirect('Hello!')
console.log(provider_name, output_text)
