// The editor at the other end of the connection: sends it updates and requests.
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
  /** Whether the editor announced in `initialize` that it shows notices. */
  takesNotices = false
  /** Whether the editor announced in `initialize` that it shows forms. */
  takesForms = false

  /** @param log also gets the text of every notice */
  constructor(context: AgentContext, log: (line: string) => void) {
    this.#context = context
    this.#log = log
  }

  /** How many updates are not written to the connection yet. */
  get backlog(): number {
    return this.#backlog
  }

  /**
   * Sends an update. Updates arrive in the order of the calls. Resolves when the update is written, or if the
   * connection is closed.
   */
  async update(sessionId: string, update: SessionUpdate): Promise<void> {
    this.#backlog++
    try {
      await this.#context.notify(methods.client.session.update, { sessionId, update })
    } catch {
      // The connection is closed. `AcpServing.closed` reports this.
    } finally {
      this.#backlog--
    }
  }

  /** Asks the person to choose an option. @param signal withdraws the request */
  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return this.#context.request(methods.client.session.requestPermission, request, {
      cancellationSignal: signal,
      stopWaitingOnCancel: true,
    })
  }

  /** Asks the person to fill in a form. @param signal withdraws the form */
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
