// A program with an agent in it. The agent has one tool, which looks into the program's own data, and a
// profile that says who it is.
import { AgentService, defineProfile, defineTool, z } from '@beaver/service'

const stock = new Map([
  ['A-1042', 7],
  ['B-2000', 0],
])

const stockLevel = defineTool({
  name: 'stock_level',
  description: 'How many pieces of an article are in stock. Returns {"article", "pieces"}.',
  input: z.strictObject({ article: z.string().describe('The number of the article, such as A-1042.') }),
  idempotent: true,
  run: ({ article }) => ({ article, pieces: stock.get(article) ?? null }),
})

const clerk = defineProfile({
  name: 'clerk',
  system_prompt:
    'You answer questions about the stock. Call `stock_level` with the number of the article, and tell what it returned.',
  tool_ids_inventory: ['system:stock_level'],
})

await using service = new AgentService({ tools: [stockLevel], profiles: [clerk], profile: 'clerk' })
const { output_text, status, tool_iterations, model } = await service.processDirect(
  'How many pieces are there? Call `stock_level` with {"article": "A-1042"}.',
)
console.log(output_text)
console.log(`${status}, ${tool_iterations} answer with tool calls, ${model}`)
