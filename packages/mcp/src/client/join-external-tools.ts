// Joins several suppliers of external tools. A call goes to the first one that lists its name now, an unknown
// name to the last one, which should have the best answer: MCP servers know which tools they had.
import type { ExternalTools } from '@beaver/agent'

/** @param suppliers at least one */
export function joinExternalTools(suppliers: readonly [ExternalTools, ...ExternalTools[]]): ExternalTools {
  return {
    get tools() {
      return suppliers.flatMap((supplier) => supplier.tools)
    },
    onChange(listener) {
      const ends = suppliers.map((supplier) => supplier.onChange(listener))
      return () => {
        for (const end of ends) end()
      }
    },
    async arrival(names) {
      await Promise.all(suppliers.map(async (supplier) => supplier.arrival?.(names)))
    },
    refused: (tool, refusal) => supplierOf(tool).refused?.(tool, refusal),
    async describe(call) {
      return (
        (await supplierOf(call.name).describe?.(call)) ?? {
          subject: null,
          unreadable: null,
          inputFault: null,
          preview: null,
          refused: null,
        }
      )
    },
    call: (call, ...how) => supplierOf(call.name).call(call, ...how),
  }

  function supplierOf(tool: string): ExternalTools {
    return (
      suppliers.find(({ tools }) => tools.some(({ name }) => name === tool)) ??
      suppliers.at(-1) ??
      suppliers[0]
    )
  }
}
