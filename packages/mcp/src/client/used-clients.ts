// Which clients have calls under way. A server that has forgotten its session gets a new client, and the old
// one is closed after its last call.
import type { Client } from '@modelcontextprotocol/client'
import type { Link } from './link.ts'

export class UsedClients {
  readonly #calls = new WeakMap<Client, number>()

  /** Makes one call with the present client of a link. */
  async during<Value>(at: Link, call: () => Promise<Value>): Promise<Value> {
    const { client } = at
    this.#calls.set(client, this.#of(client) + 1)
    try {
      return await call()
    } finally {
      this.#calls.set(client, this.#of(client) - 1)
      this.closeUnused(at, client)
    }
  }

  /** Closes a client that is not that of the present session, unless it has calls under way. */
  closeUnused(at: Link, client: Client): void {
    if (this.#of(client) === 0 && client !== at.client) void client.close().catch(() => {})
  }

  #of(client: Client): number {
    return this.#calls.get(client) ?? 0
  }
}
