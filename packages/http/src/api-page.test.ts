import { expect, it } from 'vitest'
import { apiPage } from './api-page.ts'

const evil = `"><b onclick='x'>&lt;`
const field = { type: evil, description: evil, default: evil }
const fields = {
  type: 'object',
  description: evil,
  required: [evil],
  properties: { [evil]: field, deep: { items: { properties: { [evil]: { const: evil } } } } },
}
const schemas = [
  fields,
  { enum: [evil] },
  { anyOf: [{ type: evil }, { $ref: `#/components/schemas/${evil}` }] },
  { items: { type: [evil] } },
]

it('every text of the document is escaped, wherever it is', () => {
  const content = Object.fromEntries([
    ...schemas.map((schema, i) => [`${evil}${i}`, { schema }]),
    ['text/event-stream', { schema: field }],
  ])
  const operation = {
    operationId: evil,
    summary: evil,
    tags: [evil],
    'x-role': evil,
    parameters: [{ name: evil, in: evil, required: true, description: evil, schema: field }],
    requestBody: { content: { 'application/json': { schema: fields } } },
    responses: { [evil]: { description: evil, content } },
  }
  const bodies = schemas.map((schema, i) => ({
    ...operation,
    requestBody: { content: { 'application/json': { schema } } },
    operationId: `${i}`,
  }))
  const page = apiPage({
    info: { title: evil, description: evil },
    paths: Object.fromEntries([operation, ...bodies].map((each, i) => [`/${evil}${i}`, { [evil]: each }])),
    components: {
      schemas: Object.fromEntries([[evil, fields], ...schemas.map((schema, i) => [`${evil}${i}`, schema])]),
    },
  })
  expect(page).not.toContain('<b onclick')
  expect(page.match(/&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;lt;/gi)?.length).toBeGreaterThan(100)
})
