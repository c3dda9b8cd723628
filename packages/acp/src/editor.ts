// The editor at the other end of the connection: what it is told, and what it is asked.
import {
  type AgentContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'

export class Editor {
  readonly #context: AgentContext
  readonly #log: (line: string) => void
  #backlog = 0
  /** Whether the editor said that it shows notices. */
  takesNotices = false
  /** Whether the editor said that it shows forms. */
  takesForms = false

  /** @param log where a notice goes besides */
  constructor(context: AgentContext, log: (line: string) => void) {
    this.#context = context
    this.#log = log
  }

  /** How many updates are not written yet. */
  get backlog(): number {
    return this.#backlog
  }

  /**
   * Updates arrive in the order of these calls. Resolves when the update is written, also if the editor is
   * gone.
   */
  async update(sessionId: string, update: SessionUpdate): Promise<void> {
    this.#backlog++
    try {
      await this.#context.notify(methods.client.session.update, { sessionId, update })
    } catch {
      // The editor is gone. The connection tells so itself.
    } finally {
      this.#backlog--
    }
  }

  /** @param signal withdraws the question */
  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return this.#context.request(methods.client.session.requestPermission, request, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    })
  }

  /** @param signal withdraws the form */
  askForm(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    return this.#context.request(methods.client.elicitation.create, request, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    })
  }

  notice(sessionId: string, text: string): void {
    this.#log(text)
    if (this.takesNotices)
      void this.update(sessionId, { sessionUpdate: 'notice', severity: 'warning', title: text })
  }
}
