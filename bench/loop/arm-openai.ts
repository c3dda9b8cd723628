// (a) The openai client alone: no threads, no journal, nothing kept.
import OpenAI from 'openai'
import { serveArm } from './arm.ts'

await serveArm(async (baseURL) => {
  const client = new OpenAI({ baseURL, apiKey: 'bench', maxRetries: 0 })
  const tools = [
    {
      type: 'function' as const,
      function: {
        name: 'echo',
        description: 'Gives back its text.',
        parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      },
    },
  ]
  return {
    loop: async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: 'You are a helpful agent.' },
        { role: 'user', content: 'Say hello with the tool.' },
      ]
      for (;;) {
        const { choices } = await client.chat.completions.create({ model: 'bench-model', messages, tools })
        const message = choices[0]?.message
        if (message === undefined) throw new Error('no message')
        messages.push(message)
        if (message.tool_calls === undefined) return
        for (const call of message.tool_calls) {
          if (call.type !== 'function') continue
          const { text } = JSON.parse(call.function.arguments) as { text: string }
          messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify({ text }) })
        }
      }
    },
  }
})
