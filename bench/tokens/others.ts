// The same conversations through LangGraph.js (createReactAgent) and through the AI SDK (generateText), with
// the same tools.
import type { Tool } from '@beaver/agent'
import type { Conversation } from './conversation.ts'
import { tokenPeers } from './peers.ts'

const instructions = 'You are a helpful agent. Work only from what your tools return.'

/** Has one conversation. Each call returns what it returned to Beaver. */
export type Talk = (conversation: Conversation) => Promise<void>
type ToolSpec = Pick<Tool, 'name' | 'description' | 'parameters'>

const toolsOf = (all: readonly ToolSpec[], { tools }: Conversation): ToolSpec[] =>
  all.filter(({ name }) => tools.includes(name))

function inTurn({ results }: Conversation): () => string {
  let next = 0
  return () => results[next++] ?? ''
}

export async function langGraph(baseURL: string, all: readonly ToolSpec[]): Promise<Talk> {
  const { createReactAgent } = await tokenPeers.load('@langchain/langgraph/prebuilt')
  const { ChatOpenAI } = await tokenPeers.load('@langchain/openai')
  const { tool } = await tokenPeers.load('@langchain/core/tools')
  const llm = new ChatOpenAI({
    model: 'bench-model',
    apiKey: 'bench',
    maxRetries: 0,
    configuration: { baseURL },
  })
  return async (conversation) => {
    const result = inTurn(conversation)
    const tools = toolsOf(all, conversation).map(({ name, description, parameters }): unknown =>
      tool(result, { name, description, schema: parameters }),
    )
    const agent = createReactAgent({ llm, tools, prompt: instructions })
    await agent.invoke(
      { messages: [{ role: 'user', content: conversation.message }] },
      { recursionLimit: 100 },
    )
  }
}

export async function aiSdk(baseURL: string, all: readonly ToolSpec[]): Promise<Talk> {
  const { generateText, isStepCount, jsonSchema, tool } = await tokenPeers.load('ai')
  const { createOpenAICompatible } = await tokenPeers.load('@ai-sdk/openai-compatible')
  const model = createOpenAICompatible({ name: 'bench', baseURL, apiKey: 'bench' })('bench-model')
  return async (conversation) => {
    const result = inTurn(conversation)
    const tools = Object.fromEntries(
      toolsOf(all, conversation).map(({ name, description, parameters }) => [
        name,
        tool({ description, inputSchema: jsonSchema(parameters), execute: async () => result() }),
      ]),
    )
    await generateText({
      model,
      system: instructions,
      instructions,
      prompt: conversation.message,
      tools,
      stopWhen: isStepCount(50),
      maxRetries: 0,
    })
  }
}
