import type { NodeHoverDrawingFunction, NodeLabelDrawingFunction } from 'sigma/rendering';

const GAP = 5;
const PAD = 4;
/** Longer names end in dots. */
const MAX_LABEL = 32;

const short = (label: string): string =>
  label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1).trimEnd()}…` : label;

/** Draws a name beside its point, with a rim of the page's colour so that relations do not cross it. */
export function labelOn(page: string): NodeLabelDrawingFunction {
  return (context, { x, y, size, label }, settings) => {
    if (label == null || label === '') return;
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.direction = 'ltr';
    const at: [number, number] = [x + size + GAP, y + settings.labelSize / 3];
    context.lineJoin = 'round';
    context.lineWidth = 3;
    context.strokeStyle = page;
    context.strokeText(short(label), ...at);
    context.fillStyle = settings.labelColor.color ?? '';
    context.fillText(short(label), ...at);
  };
}

/** Draws the point in focus with a ring, and its name on a card. */
export function cardOn(page: string): NodeHoverDrawingFunction {
  return (context, { x, y, size, label, color }, settings) => {
    const text = short(label ?? '');
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.direction = 'ltr';
    const width = context.measureText(text).width;
    const height = settings.labelSize + 2 * PAD;
    context.fillStyle = page;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    context.roundRect(x + size + GAP, y - height / 2, width + 2 * PAD, height, PAD);
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(x, y, size + 3, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fillStyle = color;
    context.fill();
    context.fillStyle = settings.labelColor.color ?? '';
    context.fillText(text, x + size + GAP + PAD, y + settings.labelSize / 3);
  };
}
