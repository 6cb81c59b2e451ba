/** A server-sent event. */
export interface ServerEvent {
  /** Its name; `message` if it has none. */
  name: string;
  /** Its id, for `Last-Event-ID`. */
  id: string | undefined;
  /** Its data. */
  data: string;
}

/**
 * Reads server-sent events from text that arrives in pieces; comments, such as heartbeats, are left out.
 *
 * Source: HTML Standard, section 9.2, without `retry`.
 */
export class EventReader {
  private rest = '';
  private name = '';
  private id: string | undefined;
  private data: string[] = [];

  /** The events that end in this piece. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        this.field(line);
        continue;
      }
      if (this.data.length > 0) {
        events.push({ name: this.name || 'message', id: this.id, data: this.data.join('\n') });
      }
      this.name = '';
      this.data = [];
    }
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.name = value;
    else if (name === 'id') this.id = value;
    else if (name === 'data') this.data.push(value);
  }
}
