// Loads the modules of a request to a model before the first request needs them.

/**
 * Loads the client and its HTTP library, one after the other, so that the thread hears what it is told between them. A thread calls this when it has
 * nothing else to do (docs/decisions/0029). It never rejects: a module that cannot be loaded fails the request that needs it.
 */
export async function loadClient(): Promise<void> {
  try {
    await import('undici')
    await new Promise((resolve) => setImmediate(resolve))
    await import('openai')
  } catch {
    // The first request reports it.
  }
}
