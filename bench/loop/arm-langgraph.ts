// (c) LangGraph.js createReactAgent with its in-memory checkpointer. Its packages are installed on first use
// (peers.ts).
import { serveArm } from './arm.ts'
import { langGraphPeers } from './peers.ts'

await serveArm(async (baseURL) => {
  const { createReactAgent } = await langGraphPeers.load('@langchain/langgraph/prebuilt')
  const { MemorySaver } = await langGraphPeers.load('@langchain/langgraph')
  const { ChatOpenAI } = await langGraphPeers.load('@langchain/openai')
  const { tool } = await langGraphPeers.load('@langchain/core/tools')
  const { z } = await langGraphPeers.load('zod')
  const echo = tool(({ text }: { text: string }) => JSON.stringify({ text }), {
    name: 'echo',
    description: 'Gives back its text.',
    schema: z.object({ text: z.string() }),
  })
  const llm = new ChatOpenAI({
    model: 'bench-model',
    apiKey: 'bench',
    maxRetries: 0,
    configuration: { baseURL },
  })
  const agent = createReactAgent({
    llm,
    tools: [echo],
    prompt: 'You are a helpful agent.',
    checkpointer: new MemorySaver(),
  })
  let last = 0
  return {
    loop: async () => {
      const { messages } = await agent.invoke(
        { messages: [{ role: 'user', content: 'Say hello with the tool.' }] },
        { configurable: { thread_id: `t${++last}` } },
      )
      if (messages.at(-1)?.content !== 'The tool said hello.')
        throw new Error('the agent gave another answer')
    },
  }
})
