import styles from './switch.module.css';

interface Item {
  name: string;
  isOn: boolean;
  isDisabled?: boolean;
  onChoose: () => void;
}

/** Buttons of which one is pressed: ways to see the same. */
export function Switch({ label, items }: { label: string; items: Item[] }) {
  return (
    <div className={styles.switch} role="group" aria-label={label}>
      {items.map(({ name, isOn, isDisabled, onChoose }) => (
        <button
          key={name}
          type="button"
          className={styles.item}
          aria-pressed={isOn}
          disabled={isDisabled}
          onClick={onChoose}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
