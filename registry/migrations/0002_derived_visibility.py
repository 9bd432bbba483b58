from django.db import migrations, models


class Migration(migrations.Migration):
    # A constant default in the database: no table is rewritten, and code that does not know the column goes on inserting.
    # Each table by itself: whoever inserts a scorer holds its table and waits for its subset's.
    atomic = False
    dependencies = [("registry", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name=name,
            name="visibility",
            field=models.CharField(db_default="private", default="private", max_length=10),
        )
        for name in ("subset", "impl")
    ]
